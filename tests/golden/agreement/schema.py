# SPDX-License-Identifier: Apache-2.0
"""Whether a value fits a JSON schema, as far as the schemas of docs/ go."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "additionalProperties", "required", "properties", "const", "enum", "items", "anyOf", "$ref", "$defs"}


def is_of(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, root=None, where="$"):
    """What of the value the schema does not allow, a sentence each."""
    root = root or schema
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"{where}: this file does not know {sorted(unknown)}")
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in schema and all(faults(value, each, root, where) for each in schema["anyOf"]):
        return [f"{where}: fits none of {len(schema['anyOf'])}"]
    if "const" in schema and value != schema["const"]:
        return [f"{where}: is {value!r}, not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_of(value, name) for name in names):
        return [f"{where}: {value!r} is no {' or '.join(names)}"]
    found = []
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
        found += [f"{where}: has {name}" for name in value if name not in known and schema.get("additionalProperties") is False]
        for name, each in value.items():
            found += faults(each, known[name], root, f"{where}.{name}") if name in known else []
    if isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            found += faults(each, schema["items"], root, f"{where}[{number}]")
    return found
