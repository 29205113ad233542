"""What an inventory means, computed from its text without a complaint: for checks, for the Cluster and for explain."""
