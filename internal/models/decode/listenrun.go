package decode

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// run runs a file with the tensors that its ports name.
func (d *Listener) run(ctx context.Context, role string) (err error) {
	session := d.sessions[role]
	defer func() {
		for _, v := range d.bound {
			err = errors.Join(err, v.Close())
		}
		d.bound = d.bound[:0]
	}()
	info := session.Info()
	if d.in, err = d.bind(session, info.Inputs, d.in[:0]); err != nil {
		return err
	}
	if d.outs, err = d.bind(session, info.Outputs, d.outs[:0]); err != nil {
		return err
	}
	return session.Run(ctx, d.in, d.outs)
}

func (d *Listener) bind(session backend.Session, ports []backend.Port, values []backend.Value) ([]backend.Value, error) {
	for _, p := range ports {
		t, ok := d.tensors[nameOf(d.usual, p.Name)]
		if !ok {
			return values, fmt.Errorf("nothing is known of the model's port %s", p.Name)
		}
		v, err := session.Bind(t)
		if err != nil {
			return values, err
		}
		d.bound, values = append(d.bound, v), append(values, v)
	}
	return values, nil
}
