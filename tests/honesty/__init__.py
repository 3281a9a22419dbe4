"""Tests about the repository itself: does it keep the promises that its own documents make?"""
