package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"engang/infra/engang/text"
	"engang/shared/config"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("say one NAME: a reference without ssm: (hooks/woo-shop/1), or an endpoint. The secret is no argument: it is asked for, or read from standard input")
	}
	return nil
}

// lengthOf stands for an argument that may be a secret in the wrong place.
func lengthOf(given string) string {
	return text.Count(utf8.RuneCountInString(given), "character", "characters")
}

// checkName tells whether a NAME can be one. It is not repeated: it may be a secret in the wrong place.
func checkName(name string) error {
	bare := strings.TrimPrefix(name, "ssm:")
	switch err := secrets.Ref("ssm:" + bare).Fit(); {
	case config.IsSecret(name):
		return usage("the NAME given looks like a secret itself: name its place, as hooks/woo-shop/1; the secret is asked for, or read from standard input")
	case errors.Is(err, secrets.ErrSlot):
		return usage("the NAME given (%s) names no slot, as hooks/woo-shop/1 does: %w", lengthOf(name), err)
	case err != nil && (bare != name || !recipe.IsName(name)):
		return usage("the NAME given (%s) is neither a reference without ssm: (hooks/woo-shop/1, models/openai) nor an endpoint", lengthOf(name))
	}
	return nil
}

// openSlot connects, and finds the place that a NAME means. For an endpoint the path is that of its first
// secret.
func (p *program) openSlot(ctx context.Context, name string) (*desk, slot, error) {
	if err := checkName(name); err != nil {
		return nil, slot{}, err
	}
	d, err := p.openDesk(ctx)
	if err != nil {
		return nil, slot{}, err
	}
	at, err := d.find(ctx, strings.TrimPrefix(name, "ssm:"))
	return d, at, err
}

func (d *desk) find(ctx context.Context, name string) (slot, error) {
	if path, err := secrets.Ref("ssm:" + name).Path(); err == nil {
		if !strings.HasPrefix(path, "hooks/") {
			return slot{path: path}, nil
		}
		e, err := d.endpoint(ctx, folder(path))
		return slot{path, e}, err
	}
	e, err := d.endpoint(ctx, name)
	switch {
	case err != nil:
		return slot{}, err
	case e == nil:
		return slot{}, &failure{exitNotFound, fmt.Errorf("no endpoint of the NAME given (%s) is applied; before it is, name the place of its secret: hooks/NAME/1", lengthOf(name))}
	case len(e.Secrets) == 0:
		return slot{}, &failure{exitState, fmt.Errorf("endpoint %s names no secret", e.Name)}
	}
	path, err := secrets.Ref(e.Secrets[0]).Path()
	return slot{path, e}, err
}
