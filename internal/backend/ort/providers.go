//go:build cgo

package ort

import (
	"context"
	"errors"
	"os"

	onnx "github.com/yalue/onnxruntime_go"
)

// Providers tells of each device whether the library has it and whether it works now. There is no
// call that lists them in the binding, and a list would not tell what works, so each is tried: added to
// a session, with which a model of one node is then loaded. That is quick, and prints nothing.
//
// What is known to hang or end the process is not tried, and said so.
func (e *Engine) Providers(ctx context.Context) ([]Provider, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	var all []Provider
	for i := range devices {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		all = append(all, e.provider(&devices[i]))
	}
	return all, nil
}

func (e *Engine) provider(d *device) Provider {
	p := Provider{Device: d.name, Provider: d.provider}
	if d.call == callNone {
		p.Compiled, p.Usable = true, true
		return p
	}
	if file := d.libraryFile(e.library.Path); file != "" {
		_, err := os.Stat(file)
		p.Compiled = err == nil
	}
	if err := d.checkVersion(e.library.Version); err != nil {
		p.Reason, p.Remedy = "not tried: "+err.Error(), "use ONNX Runtime "+d.since+" or newer"
		return p
	}
	if d.loads != "" && !(Search{}).loaderHas(d.loads) {
		p.Reason, p.Remedy = "not tried: "+d.loads+" is missing", "it needs "+d.needs
		return p
	}
	keepSignals(func() { e.tryDevice(d, &p) })
	return p
}

func (e *Engine) tryDevice(d *device, p *Provider) {
	options, err := onnx.NewSessionOptions()
	if err != nil {
		p.Reason = readable(err.Error())
		return
	}
	defer options.Destroy()
	options.SetLogSeverityLevel(onnx.LoggingLevelFatal)
	if err := appendDevice(options, d, nil); err != nil {
		p.Reason, p.Remedy = explainDevice(d, e.library.Path, err.Error())
		p.Compiled = p.Compiled || !isAbsent(err.Error())
		return
	}
	p.Compiled = true
	environment.keepForever()
	session, err := onnx.NewDynamicAdvancedSessionWithONNXData(tinyModel(), []string{"x"}, []string{"y"}, options)
	if err != nil {
		p.Reason, p.Remedy = explainDevice(d, e.library.Path, err.Error())
		return
	}
	p.Usable = errors.Join(session.Destroy()) == nil
}
