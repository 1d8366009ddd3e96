"""`python -m memglot`."""

from memglot.cli.main import main

if __name__ == "__main__":
    main()
