"""`python -m lbclient` is `lbclient`."""

from lbclient.cli import main

if __name__ == "__main__":
    main()
