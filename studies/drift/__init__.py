"""The study `drift`: forgetful trees and forests against others on streams that drift.

Nothing is imported here: every cell is a process of its own that would import it all.
"""
