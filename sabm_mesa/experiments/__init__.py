"""Published experiments as data, run again and put beside what was published."""
