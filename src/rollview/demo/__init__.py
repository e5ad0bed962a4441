"""The guided tour: Gupta and Mumick's Example 1, with changes, comparisons and a crash."""
