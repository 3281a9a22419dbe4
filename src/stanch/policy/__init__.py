"""Rules, the effects of tools, and the layers with the one walk that every judgement takes. Pure: no I/O."""
