package ort

import (
	"bytes"
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

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// entryPoint is the one symbol through which all of ONNX Runtime's C API is reached.
const entryPoint = "OrtGetApiBase"

// A probed library is what a file's headers say about it.
type probed struct {
	os, arch string // in Go's words
	version  string // empty if the file does not tell
}

var errNotORT = errors.New("not ONNX Runtime (a library without " + entryPoint + ")")

// probe reads the headers of a library file, without loading it: a library that does not fit is
// refused by the system's loader in words that mislead (a wrong architecture is reported as a
// missing file), and one that is too old writes to standard error and may take the process
// down afterwards.
func probe(path string) (probed, error) {
	file, err := fileio.Open(path)
	if err != nil {
		return probed{}, err
	}
	defer file.Close()
	return probeReader(file)
}

func probeReader(file io.ReaderAt) (p probed, err error) {
	// The readers of package debug are not hardened against every damaged file.
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
	switch {
	case string(magic[:]) == elf.ELFMAG:
		return probeELF(file)
	case string(magic[:2]) == "MZ":
		return probePE(file)
	case isMachO(magic):
		return probeMachO(file)
	}
	return probed{}, errors.New("not a library (neither ELF, Mach-O nor PE)")
}

// probeELF takes the version from the symbol version of the entry point, VERS_1.24.3.
func probeELF(r io.ReaderAt) (probed, error) {
	file, err := elf.NewFile(r)
	if err != nil {
		return probed{}, fmt.Errorf("damaged library file: %w", err)
	}
	p := probed{os: "linux", arch: file.Machine.String()}
	if arch, ok := elfArch[file.Machine]; ok {
		p.arch = arch
	}
	symbols, err := file.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return p, fmt.Errorf("damaged library file: %w", err)
	}
	i := slices.IndexFunc(symbols, isEntryPoint)
	if i < 0 {
		return p, errNotORT
	}
	p.version = strings.TrimPrefix(symbols[i].Version, "VERS_")
	return p, nil
}

func isEntryPoint(s elf.Symbol) bool { return s.Name == entryPoint && s.Section != elf.SHN_UNDEF }

var elfArch = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

func isMachO(magic [4]byte) bool {
	big, little := binary.BigEndian.Uint32(magic[:]), binary.LittleEndian.Uint32(magic[:])
	return big == macho.MagicFat || little == macho.Magic64 || little == macho.Magic32
}

// probeMachO takes the version from the library's own identification, its current version.
// Of a fat file it takes the part for this machine, else the first.
func probeMachO(r io.ReaderAt) (probed, error) {
	file, err := machoPart(r)
	if err != nil {
		return probed{}, fmt.Errorf("damaged library file: %w", err)
	}
	p := probed{os: "darwin", arch: machoArch(file.Cpu)}
	for _, load := range file.Loads {
		p.version = machoVersion(load.Raw(), file.ByteOrder, p.version)
	}
	if file.Symtab != nil {
		for _, s := range file.Symtab.Syms {
			if s.Name == "_"+entryPoint && s.Sect != 0 {
				return p, nil
			}
		}
	}
	return p, errNotORT
}

func machoPart(r io.ReaderAt) (*macho.File, error) {
	fat, err := macho.NewFatFile(r)
	if errors.Is(err, macho.ErrNotFat) {
		return macho.NewFile(r)
	}
	if err != nil {
		return nil, err
	}
	for _, part := range fat.Arches {
		if machoArch(part.Cpu) == runtime.GOARCH {
			return part.File, nil
		}
	}
	if len(fat.Arches) == 0 {
		return nil, errors.New("no architectures in it")
	}
	return fat.Arches[0].File, nil
}

func machoArch(cpu macho.Cpu) string {
	switch cpu {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	}
	return cpu.String()
}

// machoVersion decodes the load command LC_ID_DYLIB: command, size, offset of the name,
// timestamp, then the current version as 16.8.8 bits.
func machoVersion(raw []byte, order binary.ByteOrder, other string) string {
	const idDylib = 0xd
	if len(raw) < 20 || order.Uint32(raw) != idDylib {
		return other
	}
	v := order.Uint32(raw[16:])
	return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff)
}

// probePE takes the version from the version resource. It finds that by its signature, and the
// entry point by its name among the read-only data: package debug/pe reads neither resources
// nor exports.
func probePE(r io.ReaderAt) (probed, error) {
	file, err := pe.NewFile(r)
	if err != nil {
		return probed{}, fmt.Errorf("damaged library file: %w", err)
	}
	p := probed{os: "windows", arch: peArch(file.Machine)}
	p.version = peVersion(peSection(file, ".rsrc"))
	for _, name := range []string{".edata", ".rdata"} {
		if bytes.Contains(peSection(file, name), []byte("\x00"+entryPoint+"\x00")) {
			return p, nil
		}
	}
	return p, errNotORT
}

// peSection returns the data of a section; nothing if there is none that can be read.
func peSection(file *pe.File, name string) []byte {
	section := file.Section(name)
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return nil
	}
	return data
}

func peArch(machine uint16) string {
	switch machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64"
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386"
	}
	return fmt.Sprintf("machine %#x", machine)
}

// peVersion decodes VS_FIXEDFILEINFO: signature, structure version, then the file
// version in four 16-bit parts, the high ones first within each 32 bits.
func peVersion(resources []byte) string {
	_, info, found := bytes.Cut(resources, []byte{0xbd, 0x04, 0xef, 0xfe})
	if !found || len(info) < 12 {
		return ""
	}
	high, low := binary.LittleEndian.Uint32(info[4:]), binary.LittleEndian.Uint32(info[8:])
	return fmt.Sprintf("%d.%d.%d", high>>16, high&0xffff, low>>16)
}

// fits says why this program cannot load the library, nil if it can.
func (p probed) fits() error {
	if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		return fmt.Errorf("built for %s/%s, this program is %s/%s", p.os, p.arch, runtime.GOOS, runtime.GOARCH)
	}
	if p.version != "" && olderThan(p.version, minVersion) {
		return fmt.Errorf("ONNX Runtime %s, needs at least %s", p.version, minVersion)
	}
	return nil
}

var versionParts = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?`)

// olderThan compares versions by their numbers; text that is no version is not older.
func olderThan(version, than string) bool { return compareVersions(version, than) < 0 }

func compareVersions(a, b string) int {
	x, y := versionParts.FindStringSubmatch(a), versionParts.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0
	}
	for i := 1; i < len(x); i++ {
		xi, yi := strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0")
		if len(xi) != len(yi) {
			return len(xi) - len(yi)
		}
		if c := strings.Compare(xi, yi); c != 0 {
			return c
		}
	}
	return 0
}
