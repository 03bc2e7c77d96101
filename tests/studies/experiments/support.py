"""A small experiment, as its file says it."""

SMALL = """
title = "Small"
question = "Does it fall?"
source = "nobody"
scenario = "kbc"
minds = "llm:gpt-4-0314"
cost = "small"
set = { n_players = 3 }

[scales.quick]
runs = 2
set = { n_rounds = 2 }

[scales.paper]
runs = 3

[[conditions]]
name = "baseline"
label = "Baseline"

[[conditions]]
name = "cooperative"
label = "Told to cooperate"
set = { condition = "cooperative" }

[[measures]]
name = "last"
label = "Variance in the last round"
columns = "variance"
rounds = [-1, -1]

[[claims]]
text = "The variance is below 50."
source = "nobody"
measure = "last"
kind = "below"
value = 50
condition = "baseline"
"""
FORK = """
[[conditions]]
name = "turned"
label = "Told to cooperate from round 1 on"
set = { condition = "cooperative" }
fork_of = "baseline"
at = { quick = 1, paper = 2 }
"""
