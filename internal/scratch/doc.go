// Package scratch makes temporary folders and files that do not outlive their process for long.
//
//	folder, err := scratch.Folder("profile")
//	defer folder.Remove()
//
// A process that is killed leaves them behind. Each is locked while its process lives, so
// that the next one that needs such a thing finds those of the dead and removes them. On systems
// without such locks they stay.
package scratch
