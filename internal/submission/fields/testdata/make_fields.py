#!/usr/bin/env python3
"""Writes fields.json: the fields that the official checker asks for.

    python3 make_fields.py CHECKOUT_OF_MLCOMMONS_INFERENCE > fields.json
"""
import importlib.util
import json
import os
import sys

path = os.path.join(sys.argv[1], "tools/submission/submission_checker/constants.py")
spec = importlib.util.spec_from_file_location("constants", path)
constants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(constants)
print(json.dumps({name: getattr(constants, name) for name in (
    "SYSTEM_DESC_REQUIRED_FIELDS", "SYSTEM_DESC_MEANINGFUL_RESPONSE_REQUIRED_FIELDS", "SYSTEM_DESC_REQUIRED_FIELDS_NETWORK_MODE",
    "SYSTEM_DESC_REQUIRED_FIELDS_POWER", "SYSTEM_IMP_REQUIRED_FILES") if hasattr(constants, name)}, indent=1))
