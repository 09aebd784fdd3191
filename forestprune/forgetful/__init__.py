"""Forgetful trees and forests: models of a stream that remember a window of it."""
