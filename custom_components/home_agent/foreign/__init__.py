"""Tools of Home Assistant and of other integrations, each in the form that the policy demands of ours."""
