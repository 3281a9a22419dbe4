"""The judge: would a call that nobody has made be refused outright?"""
