package delivery

import (
	"fmt"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/webhook"
)

// Scheme is the provider's row as an endpoint uses it. It fails where this version has no such row, or
// one that does not offer what the endpoint says.
func Scheme(e control.Endpoint) (webhook.Scheme, error) {
	row, ok := webhook.Lookup(e.Provider)
	if !ok {
		return webhook.Scheme{}, fmt.Errorf("provider %s is not known", e.Provider)
	}
	own := config.Endpoint{Type: e.Type, Legacy: e.Legacy, HMAC: e.HMAC}
	if e.TypeAt != "" {
		at, err := document.ParsePointer(e.TypeAt)
		if err != nil {
			return webhook.Scheme{}, fmt.Errorf("read type_at of endpoint %s: %w", e.Name, err)
		}
		own.TypeAt = &at
	}
	return row.For(own.Adds())
}
