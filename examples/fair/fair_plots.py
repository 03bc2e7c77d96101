"""The plot of the fair."""

from sabm_mesa.analysis import plot_style as style


def figures(model_data, _agent_data, subtitle="", *, baked=0):
    """Return name → figure: the loaves that were sold, of those that were baked."""
    share = model_data.assign(share=model_data["sold"] / baked)
    return style.line_charts(share, ["share"], subtitle)
