"""End processes of users that should not be on a node: processes outside of jobs, and VS Code servers."""
