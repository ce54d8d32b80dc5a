#!/usr/bin/env python3
"""Makes the schemas that the manifests in configs/kubernetes are checked against.

    kubernetes_schemas.py KUBERNETES KSERVE OUTPUT

KUBERNETES is the folder of the Go module k8s.io/kubernetes v1.36.3 (go mod download -json), KSERVE that
of github.com/kserve/kserve v0.16.0. Of their OpenAPI documents and CRDs (Apache License 2.0) only what the
manifests use is kept, without descriptions; fields that nobody has named are not allowed.
"""
import glob, json, os, sys, yaml

KINDS = {("Deployment", "apps"), ("Service", ""), ("Job", "batch"), ("PersistentVolumeClaim", "")}
CRDS = {"ServingRuntime", "InferenceService"}


def strict(o):
    """Drops words, follows references to definitions, and closes objects."""
    if isinstance(o, list):
        return [strict(x) for x in o]
    if not isinstance(o, dict):
        return o
    o = {k: v for k, v in o.items() if not (k == "description" and isinstance(v, str)) and k not in ("default", "x-kubernetes-list-map-keys", "x-kubernetes-validations")}
    if isinstance(o.get("$ref"), str):
        return {"$ref": "#/definitions/" + o["$ref"].split("/")[-1]}
    if o.get("x-kubernetes-int-or-string") or o.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    if o.get("type") == "object" and isinstance(o.get("properties"), dict) and "additionalProperties" not in o and not o.get("x-kubernetes-preserve-unknown-fields"):
        o["additionalProperties"] = False
    if list(o.get("allOf", [])) and len(o["allOf"]) == 1:
        return strict(o["allOf"][0])
    return {k: strict(v) for k, v in o.items() if not k.startswith("x-kubernetes")}


def needed(schema, all, found):
    """Collects the definitions that a schema refers to."""
    if isinstance(schema, list):
        for x in schema:
            needed(x, all, found)
    elif isinstance(schema, dict):
        name = schema.get("$ref", "").split("/")[-1] if isinstance(schema.get("$ref"), str) else ""
        if name and name not in found:
            found[name] = strict(all[name])
            needed(found[name], all, found)
        for x in schema.values():
            needed(x, all, found)


def write(out, name, schema):
    with open(os.path.join(out, name), "w") as f:
        json.dump(schema, f, sort_keys=True, separators=(",", ":"))
        f.write("\n")


def main(kubernetes, kserve, out):
    for path in sorted(glob.glob(kubernetes + "/api/openapi-spec/v3/*v1_openapi.json")):
        all = json.load(open(path))["components"]["schemas"]
        for schema in all.values():
            for g in schema.get("x-kubernetes-group-version-kind", []):
                if (g["kind"], g["group"]) in KINDS and g["version"] == "v1":
                    found, top = {}, strict(schema)
                    top["properties"].pop("status", None)
                    needed(top, all, found)
                    group = "-" + g["group"] if g["group"] else ""
                    write(out, (g["kind"] + group + "-v1.json").lower(), {**top, "definitions": found})
    for path in sorted(glob.glob(kserve + "/config/crd/full/**/*.yaml", recursive=True)):
        for d in yaml.safe_load_all(open(path)):
            if d and d.get("kind") == "CustomResourceDefinition" and d["spec"]["names"]["kind"] in CRDS:
                for v in d["spec"]["versions"]:
                    s = strict(v["schema"]["openAPIV3Schema"])
                    s["properties"]["metadata"] = {"type": "object"}
                    s["properties"].pop("status", None)
                    prune(s, d["spec"]["names"]["kind"])
                    write(out, "%s-serving-%s.json" % (d["spec"]["names"]["kind"].lower(), v["name"]), s)


def prune(schema, kind):
    """Leaves out the parts of an InferenceService that the manifests do not have: they would be a megabyte."""
    spec = schema["properties"]["spec"]["properties"]
    if kind == "InferenceService":
        for part in ("explainer", "transformer"):
            spec.pop(part, None)
        predictor = spec["predictor"]["properties"]
        for part in list(predictor):
            if part not in ("model", "minReplicas", "maxReplicas", "timeout", "containerConcurrency", "serviceAccountName", "nodeSelector", "tolerations"):
                predictor.pop(part)


if __name__ == "__main__":
    main(*sys.argv[1:])
