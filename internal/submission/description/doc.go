// Package description writes systems/<system>.json of a submission from the machine that it
// runs on.
//
//	d, err := description.Of(machine.Describe(""), machine.TakeInventory(ctx), description.Request{Submitter: "ExampleOrg"})
//	d["cooling"]         // FILL IN: e.g. air, liquid or passive
//	d.Unfinished()       // the fields to fill in
//
// A description has all fields that the checker asks for. A field that the machine does not
// show, or shows to root only, is a placeholder: memory modules, cooling, the interconnect of
// accelerators. A missing part is "N/A", and its count "0", as the official checker wants
// them. Values are texts.
//
// description.go has the fields and the file, machine.go fills in what the machine shows.
package description
