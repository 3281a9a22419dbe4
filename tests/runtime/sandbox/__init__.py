"""Does what a model wrote reach anything but what it was given?"""
