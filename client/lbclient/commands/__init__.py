"""One file a command of `lbclient`."""
