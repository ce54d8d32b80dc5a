package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// Only is the role of the only file of a model.
const Only = "model"

// A File is one of the files of a model, and what it is for: encoder, decoder, joint.
type File struct{ Role, Path string }

// FilesOf returns the files of a model, at least one.
func (m Model) FilesOf(path string) ([]File, error) {
	switch {
	case m.Files != nil:
		return m.Files(path)
	case m.Roles != nil:
		return Roles(m.Roles...)(path)
	}
	return []File{{Only, path}}, nil
}

// Roles returns a function that finds the files of a model in a folder, where each is named
// by its role: encoder.onnx, decoder.onnx.
func Roles(roles ...string) func(folder string) ([]File, error) {
	return func(folder string) ([]File, error) {
		info, err := os.Stat(folder)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file: must be a folder with %s.onnx and %d more", folder, roles[0], len(roles)-1)
		}
		if err != nil {
			return nil, err
		}
		var files []File
		var errs []error
		for _, role := range roles {
			path := filepath.Join(folder, role+".onnx")
			if _, err := os.Stat(path); err != nil {
				errs = append(errs, fmt.Errorf("the model's %s: %w", role, err))
			}
			files = append(files, File{role, path})
		}
		return files, errors.Join(errs...)
	}
}

// PortsOf asks an engine what the files of a model take and give, by role. The options'
// path is not used.
func PortsOf(ctx context.Context, engine backend.Engine, files []File, opts backend.Options) (map[string]Ports, error) {
	ports := map[string]Ports{}
	for _, f := range files {
		opts.ModelPath = f.Path
		inputs, outputs, err := engine.Ports(ctx, opts)
		if err != nil && len(files) > 1 {
			err = fmt.Errorf("the model's %s: %w", f.Role, err)
		}
		if err != nil {
			return nil, err
		}
		ports[f.Role] = Ports{inputs, outputs}
	}
	return ports, nil
}

// Names are those of the inputs and outputs of a file that only this program writes. Outputs
// are in the order in which they are read.
type Names struct{ Inputs, Outputs []string }

// In wants the file of a role to have these ports.
func (n Names) In(role string, p Ports) error {
	for _, list := range []struct {
		what  string
		ports []backend.Port
		names []string
	}{{"input", p.Inputs, n.Inputs}, {"output", p.Outputs, n.Outputs}} {
		for _, name := range list.names {
			if _, ok := PortNamed(list.ports, name); !ok {
				return fmt.Errorf("the model's %s has no %s %q, it has %s: mlperf writes such files", role, list.what, name, DescribePorts(list.ports))
			}
		}
	}
	return nil
}

// PortNamed returns the port of a name, and whether there is one.
func PortNamed(ports []backend.Port, name string) (backend.Port, bool) {
	for _, port := range ports {
		if port.Name == name {
			return port, true
		}
	}
	return backend.Port{}, false
}

// DescribePorts lists ports with their types and shapes.
func DescribePorts(ports []backend.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s %v%v", p.Name, p.Type, p.Shape)
	}
	return strings.Join(names, ", ")
}
