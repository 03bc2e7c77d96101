"""``python -m sabm_mesa`` is ``sabm``."""

from sabm_mesa.cli import main

if __name__ == "__main__":
    main()
