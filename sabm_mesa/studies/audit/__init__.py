"""Audits: does a claim of an experiment survive another wording, format, order or model?"""
