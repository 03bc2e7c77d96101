"""ODD descriptions of scenarios: overview, design concepts, details (Grimm et al. 2020).

Most of one is read from the code, so that it cannot say what the code does not do: phases, orders
and questions, state variables, what agents see, data columns, parameters, minds. What code cannot
say stands in the texts of the scenario (see `sabm_mesa.odd.texts`), with the figures of the run
filled in. `sabm_mesa.describe` puts prompts and versions beside it.
"""
