"""One file per version of the control tables; never edited after a release."""
