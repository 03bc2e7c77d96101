"""Theory: pure functions, each with its source, that know nothing of models or minds."""
