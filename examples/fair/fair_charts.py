"""The chart of the fair."""

from sabm_mesa.analysis.charts import Chart, lines


def charts(model, model_data, _agent_data):
    """The loaves that were sold, as a share of those that were baked."""
    share = model_data.assign(share=model_data["sold"] / (2 * len(model.traders)))
    sold = lines(share, {"share": "sold"})
    return [Chart("share", "Loaves sold by round", sold, "Share of those baked", high=1)]
