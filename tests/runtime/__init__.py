"""Does the agent runtime do what it was let do, and nothing else?"""
