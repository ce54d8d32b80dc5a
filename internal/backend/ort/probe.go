package ort

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// entryPoint is the symbol through which programs reach all of ONNX Runtime's C API.
const entryPoint = "OrtGetApiBase"

// A probed library is what the headers of a file say about it.
type probed struct {
	os, arch string // in Go's words
	version  string // empty if the file does not tell
}

var errNotORT = errors.New("not ONNX Runtime (a library without " + entryPoint + ")")

// probe reads the headers of a library file and does not load it: the system's loader refuses a library that does not fit in
// words that mislead (it reports a wrong architecture as a missing file), and a library that is too old writes to standard
// error and may end the process afterwards.
func probe(path string) (probed, error) {
	file, err := fileio.Open(path)
	if err != nil {
		return probed{}, err
	}
	defer file.Close()
	return probeReader(file)
}

func probeReader(file io.ReaderAt) (p probed, err error) {
	// The readers of package debug panic on some damaged files.
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("damaged library file: %v", e)
		}
	}()
	var magic [4]byte
	if n, err := file.ReadAt(magic[:], 0); n < len(magic) {
		if err == io.EOF {
			err = errors.New("not a library (the file is too short)")
		}
		return probed{}, err
	}
	little := binary.LittleEndian.Uint32(magic[:])
	switch {
	case string(magic[:]) == elf.ELFMAG:
		p, err = probeELF(file)
	case string(magic[:2]) == "MZ":
		p, err = probePE(file)
	case little == macho.Magic64, little == macho.Magic32, binary.BigEndian.Uint32(magic[:]) == macho.MagicFat:
		p, err = probeMachO(file)
	default:
		return probed{}, errors.New("not a library (neither ELF, Mach-O nor PE)")
	}
	if err != nil && err != errNotORT {
		err = fmt.Errorf("damaged library file: %w", err)
	}
	return p, err
}

var elfArch = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// probeELF takes the version from the symbol version of the entry point, VERS_1.24.3.
func probeELF(r io.ReaderAt) (probed, error) {
	file, err := elf.NewFile(r)
	if err != nil {
		return probed{}, err
	}
	p := probed{os: "linux", arch: cmp.Or(elfArch[file.Machine], file.Machine.String())}
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return p, err
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == entryPoint && s.Section != elf.SHN_UNDEF })
	if i < 0 {
		return p, errNotORT
	}
	p.version = strings.TrimPrefix(symbols[i].Version, "VERS_")
	return p, nil
}

var machoArch = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}

// probeMachO takes the version from the identification of the library, its current version. Of a file for several processors
// it takes the part for this machine, else the first part.
func probeMachO(r io.ReaderAt) (probed, error) {
	var file *macho.File
	fat, err := macho.NewFatFile(r)
	if errors.Is(err, macho.ErrNotFat) {
		file, err = macho.NewFile(r)
	} else if err == nil {
		host := slices.IndexFunc(fat.Arches, func(part macho.FatArch) bool { return machoArch[part.Cpu] == runtime.GOARCH })
		file = fat.Arches[max(host, 0)].File
	}
	if err != nil {
		return probed{}, err
	}
	p := probed{os: "darwin", arch: cmp.Or(machoArch[file.Cpu], file.Cpu.String())}
	for _, load := range file.Loads {
		// LC_ID_DYLIB: command, size, offset of the name, time, then the current version in 16, 8 and 8 bits.
		if raw := load.Raw(); len(raw) >= 20 && file.ByteOrder.Uint32(raw) == 0xd {
			v := file.ByteOrder.Uint32(raw[16:])
			p.version = fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff)
		}
	}
	if file.Symtab == nil || !slices.ContainsFunc(file.Symtab.Syms, func(s macho.Symbol) bool { return s.Name == "_"+entryPoint && s.Sect != 0 }) {
		return p, errNotORT
	}
	return p, nil
}

var peArch = map[uint16]string{
	pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "386",
}

// probePE finds the version resource by its signature, and the entry point by its name among the read-only data: package
// debug/pe reads neither resources nor exports. Packages of PyPI have the date behind the minor version (1.24.26.304), so the
// patch is that of the text with the same beginning, if there is one.
func probePE(r io.ReaderAt) (probed, error) {
	file, err := pe.NewFile(r)
	if err != nil {
		return probed{}, err
	}
	section := func(name string) (data []byte) {
		if s := file.Section(name); s != nil {
			data, _ = s.Data()
		}
		return data
	}
	p := probed{os: "windows", arch: cmp.Or(peArch[file.Machine], fmt.Sprintf("machine %#x", file.Machine))}
	// VS_FIXEDFILEINFO: signature, version of the structure, then that of the file in four parts of 16 bits, the high ones
	// first within each 32 bits.
	if _, info, found := bytes.Cut(section(".rsrc"), []byte{0xbd, 0x04, 0xef, 0xfe}); found && len(info) >= 12 {
		high, low := binary.LittleEndian.Uint32(info[4:]), binary.LittleEndian.Uint32(info[8:])
		p.version = fmt.Sprintf("%d.%d.%d", high>>16, high&0xffff, low>>16)
		text := regexp.MustCompile(fmt.Sprintf(`\x00(%d\.%d\.\d+)\x00`, high>>16, high&0xffff)).FindSubmatch(section(".rdata"))
		if text != nil {
			p.version = string(text[1])
		}
	}
	name := []byte("\x00" + entryPoint + "\x00")
	if !bytes.Contains(section(".edata"), name) && !bytes.Contains(section(".rdata"), name) {
		return p, errNotORT
	}
	return p, nil
}

// fits says why this program cannot load the library; nil: it can.
func (p probed) fits() error {
	if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		return fmt.Errorf("built for %s/%s, this program is %s/%s", p.os, p.arch, runtime.GOOS, runtime.GOARCH)
	}
	if olderThan(p.version, minVersion) {
		return fmt.Errorf("ONNX Runtime %s, needs at least %s", p.version, minVersion)
	}
	return nil
}

// olderThan reports whether a version comes before another; text that is not a version does not.
func olderThan(version, than string) bool {
	return semver.IsValid("v"+version) && compareVersions(version, than) < 0
}

func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
