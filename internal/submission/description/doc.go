// Package description writes systems/<system>.json of a submission from the machine that it
// runs on.
//
//	d, err := description.Of(machine.Describe(""), machine.TakeInventory(ctx), description.Request{Submitter: "ExampleOrg"})
//	d["cooling"]         // FILL IN: e.g. air, liquid or passive
//	d.Unfinished()       // the fields that somebody has to fill in
//
// All fields of package fields are there. What nobody can read from the machine, or not
// without being root, is a placeholder: memory modules, cooling, the way accelerators are
// connected. What there is none of is "N/A", and counts of none are "0", as the official
// checker wants them. Values are texts.
package description
