"""`python -m becalm` is the command `becalm`."""

from becalm.cli.main import main

if __name__ == "__main__":
    main()
