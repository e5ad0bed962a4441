"""python -m rollview.cli"""

from rollview.cli import main

main()
