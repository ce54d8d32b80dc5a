package ort

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	host := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[runtime.GOARCH]
	good := fakeELF(elf.EM_X86_64, entryPoint, "VERS_1.24.3")
	unversioned := fakePE(pe.IMAGE_FILE_MACHINE_AMD64, entryPoint, 1, 24, 3)
	copy(unversioned[bytes.LastIndex(unversioned, []byte{0xbd, 0x04, 0xef, 0xfe}):], make([]byte, 4))
	for _, c := range []struct {
		name string
		file []byte
		want probed
		err  string
	}{
		{"ELF", good, probed{"linux", "amd64", "1.24.3"}, ""},
		{"ELF for another processor", fakeELF(elf.EM_AARCH64, entryPoint, "VERS_1.27.0"), probed{"linux", "arm64", "1.27.0"}, ""},
		{"ELF without a version", fakeELF(elf.EM_X86_64, entryPoint, ""), probed{"linux", "amd64", ""}, ""},
		{"ELF of another library", fakeELF(elf.EM_X86_64, "cos", "GLIBC_2.2"), probed{"linux", "amd64", ""}, "not ONNX Runtime"},
		{"ELF cut off", good[:200], probed{}, "damaged library file"},
		{"Mach-O", fakeMachO(macho.CpuArm64, entryPoint, 1, 24, 3), probed{"darwin", "arm64", "1.24.3"}, ""},
		{"Mach-O of another library", fakeMachO(macho.CpuAmd64, "cos", 1, 0, 0), probed{"darwin", "amd64", "1.0.0"}, "not ONNX Runtime"},
		{"Mach-O for another processor", fakeMachO(macho.CpuPpc64, entryPoint, 1, 24, 3), probed{"darwin", "CpuPpc64", "1.24.3"}, ""},
		{"Mach-O of several processors", fakeFat(fakeMachO(macho.CpuPpc64, entryPoint, 1, 23, 0), fakeMachO(host, entryPoint, 1, 24, 3)), probed{"darwin", runtime.GOARCH, "1.24.3"}, ""},
		{"Mach-O of several others", fakeFat(fakeMachO(macho.CpuPpc64, entryPoint, 1, 23, 0)), probed{"darwin", "CpuPpc64", "1.23.0"}, ""},
		{"Mach-O of no processor", fakeFat(), probed{}, "damaged library file: "},
		{"Mach-O of several, cut off", fakeFat(fakeMachO(macho.CpuArm64, entryPoint, 1, 24, 3))[:40], probed{}, "damaged library file: "},
		{"PE", fakePE(pe.IMAGE_FILE_MACHINE_AMD64, entryPoint, 1, 24, 3), probed{"windows", "amd64", "1.24.3"}, ""},
		{"PE of PyPI, with a date", fakePE(pe.IMAGE_FILE_MACHINE_AMD64, entryPoint+"\x00\x001.24.3", 1, 24, 26), probed{"windows", "amd64", "1.24.3"}, ""},
		{"PE for another processor", fakePE(pe.IMAGE_FILE_MACHINE_ARMNT, entryPoint, 1, 24, 3), probed{"windows", "machine 0x1c4", "1.24.3"}, ""},
		{"PE without a version", unversioned, probed{"windows", "amd64", ""}, ""},
		{"PE of another library", fakePE(pe.IMAGE_FILE_MACHINE_ARM64, "cos", 1, 0, 0), probed{"windows", "arm64", "1.0.0"}, "not ONNX Runtime"},
		{"PE cut off", unversioned[:0x90], probed{}, "damaged library file: "},
		{"text", []byte("#!/bin/sh\n"), probed{}, "not a library"},
		{"nothing", nil, probed{}, "too short"},
	} {
		got, err := probeReader(bytes.NewReader(c.file))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v, want %+v and an error with %q", c.name, got, err, c.want, c.err)
		}
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(fakeELF(elf.EM_X86_64, entryPoint, "VERS_1.24.3"))
	f.Add(fakeMachO(macho.CpuArm64, entryPoint, 1, 24, 3))
	f.Add(fakePE(pe.IMAGE_FILE_MACHINE_AMD64, entryPoint, 1, 24, 3))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := probeReader(bytes.NewReader(file))
		if err == nil && (p.os == "" || p.arch == "") {
			t.Errorf("accepted a library for the system %q and the processor %q", p.os, p.arch)
		}
	})
}

func TestOlderVersions(t *testing.T) {
	for _, c := range []struct {
		version string
		want    bool
	}{
		{"1.24", false}, {"1.24.3", false}, {"1.30.0", false}, {"2.0", false}, {"1.23.9", true}, {"1.9.9", true}, {"0.1", true}, {"nightly", false}, {"", false},
	} {
		if got := olderThan(c.version, "1.24"); got != c.want {
			t.Errorf("%q is older than 1.24: %t, want %t", c.version, got, c.want)
		}
	}
}

// The fakes have headers and nothing else.

// fakeELF is a shared library that defines one symbol, with a version if one is given.
func fakeELF(machine elf.Machine, symbol, version string) []byte {
	names := "\x00" + symbol + "\x00" + version + "\x00"
	symbols := pack(elf.Sym64{}, elf.Sym64{Name: 1, Info: 0x12, Shndx: 1})
	versionIndex, definition := pack([]uint16{0, 1}), []byte(nil)
	if version != "" {
		versionIndex = pack([]uint16{0, 2})
		definition = pack(
			struct {
				Version, Flags, Index, Count uint16
				Hash, Aux, Next              uint32
			}{1, 0, 2, 1, 0, 20, 0},
			struct{ Name, Next uint32 }{uint32(2 + len(symbol)), 0})
	}
	sections := []struct {
		kind elf.SectionType
		data []byte
		link uint32
		size uint64 // of an entry
	}{
		{elf.SHT_NULL, nil, 0, 0},
		{elf.SHT_DYNSYM, symbols, 2, elf.Sym64Size},
		{elf.SHT_STRTAB, []byte(names), 0, 0},
		{elf.SHT_GNU_VERSYM, versionIndex, 1, 2},
		{elf.SHT_GNU_VERDEF, definition, 2, 0},
		{elf.SHT_STRTAB, []byte{0}, 0, 0},
	}
	const headerSize = 64
	body, headers := []byte(nil), []byte(nil)
	for _, s := range sections {
		headers = append(headers, pack(elf.Section64{Type: uint32(s.kind), Off: uint64(headerSize + len(body)),
			Size: uint64(len(s.data)), Link: s.link, Info: 1, Entsize: s.size})...)
		body = append(body, s.data...)
	}
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Ehsize: headerSize,
		Shoff: uint64(headerSize + len(body)), Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 5}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	return slices.Concat(pack(header), body, headers)
}

// fakeMachO is a dynamic library for macOS that defines one symbol.
func fakeMachO(cpu macho.Cpu, symbol string, major, minor, patch uint32) []byte {
	id := pack([]uint32{0xd, 32, 24, 0, major<<16 | minor<<8 | patch, 0, 0, 0})
	names := []byte("\x00_" + symbol + "\x00")
	const headerSize, symtabSize = 32, 24
	at := uint32(headerSize + len(id) + symtabSize)
	symbols := pack(macho.Nlist64{Name: 1, Type: 0x0f, Sect: 1})
	symtab := pack([]uint32{2, symtabSize, at, 1, at + uint32(len(symbols)), uint32(len(names))})
	header := pack([]uint32{macho.Magic64, uint32(cpu), 0, uint32(macho.TypeDylib), 2, uint32(len(id) + symtabSize), 0, 0})
	return slices.Concat(header, id, symtab, symbols, names)
}

// fakeFat is a library for several processors.
func fakeFat(parts ...[]byte) []byte {
	const headerSize, entrySize = 8, 20
	entries := []uint32{macho.MagicFat, uint32(len(parts))}
	at := uint32(headerSize + entrySize*len(parts))
	for _, part := range parts {
		entries = append(entries, binary.LittleEndian.Uint32(part[4:]), 0, at, uint32(len(part)), 0)
		at += uint32(len(part))
	}
	var header []byte
	for _, v := range entries { // unlike all else in such files
		header = binary.BigEndian.AppendUint32(header, v)
	}
	return slices.Concat(header, slices.Concat(parts...))
}

// fakePE is a library for Windows with a name among its read-only data and a version resource.
func fakePE(machine uint16, symbol string, major, minor, patch uint32) []byte {
	data := []byte("\x00" + symbol + "\x00")
	version := pack([]uint32{0xfeef04bd, 0x10000, major<<16 | minor, patch << 16})
	const dos, coff, section = 0x80, 24, 40
	at := uint32(dos + coff + 2*section)
	head := make([]byte, dos)
	copy(head, "MZ")
	binary.LittleEndian.PutUint32(head[0x3c:], dos)
	file := slices.Concat([]byte("PE\x00\x00"), pack(pe.FileHeader{Machine: machine, NumberOfSections: 2}))
	sections := pack(
		pe.SectionHeader32{Name: [8]uint8{'.', 'r', 'd', 'a', 't', 'a'}, VirtualSize: uint32(len(data)), SizeOfRawData: uint32(len(data)), PointerToRawData: at},
		pe.SectionHeader32{Name: [8]uint8{'.', 'r', 's', 'r', 'c'}, VirtualSize: uint32(len(version)), SizeOfRawData: uint32(len(version)), PointerToRawData: at + uint32(len(data))})
	return slices.Concat(head, file, sections, data, version)
}

func pack(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}
