package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"engang/infra/engang/client"
	"engang/shared/control"
)

// endpoint looks an endpoint up; nil where none of that name is applied in the tenant and environment that are named.
func (d *desk) endpoint(ctx context.Context, name string) (*control.Endpoint, error) {
	return d.lookUp(ctx, d.c, name)
}

// ofAnybody looks an endpoint up whoever has it; nil where none of that name is applied.
func (d *desk) ofAnybody(ctx context.Context, name string) (*control.Endpoint, error) {
	c := *d.c
	c.Tenant, c.Environ = "", ""
	return d.lookUp(ctx, &c, name)
}

func (d *desk) lookUp(ctx context.Context, c *client.Client, name string) (*control.Endpoint, error) {
	doc, err := c.Endpoint(ctx, name)
	if refused, ok := errors.AsType[*client.Problem](err); ok && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, d.p.explain(fmt.Errorf("look up the endpoint: %w", err)) // not by its name, which may be a secret in the wrong place
	}
	return &doc, nil
}

// unnamed tells whether no live provider names the key. That it cannot be told is no news: the key is stored.
func (d *desk) unnamed(ctx context.Context, path string) bool {
	live, err := d.c.Config(ctx)
	if err != nil {
		return false
	}
	for _, p := range live.Common.Providers {
		if string(p.APIKey) == "ssm:"+path {
			return false
		}
	}
	return true
}
