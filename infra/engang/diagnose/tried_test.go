package diagnose_test

import (
	"slices"
	"testing"

	"engang/infra/engang/diagnose"
	"engang/shared/control"
	"engang/shared/secrets"
)

// What there is nothing to try with has not been tried, and may be the cause.
func TestOnlyWhatWasTriedIsNotIt(t *testing.T) {
	names := []string{"a secret that the endpoint does not name", "other endpoints of this tenant", "endpoints of the other environment"}
	for _, c := range []struct {
		name   string
		others []diagnose.Secret
		tried  []string
	}{
		{"nothing but the secret in hand", nil, nil},
		{"one of each", []diagnose.Secret{
			{Name: "hooks/a/2", Value: secrets.NewValue("unnamed-0123456789")},
			{Name: "hooks/b/1", Value: secrets.NewValue("another-0123456789"), Owner: &control.Endpoint{Environment: "test"}},
			{Name: "hooks/c/1", Value: secrets.NewValue("elsewhere-0123456789"), Owner: &control.Endpoint{Environment: "production"}},
		}, names},
	} {
		p := parcelOf(t, "woocommerce")
		p.holds("zz-another-secret-zz")
		p.capture()
		p.c.Endpoint.Environment, p.c.Others = "test", c.others
		r, people, _ := told(t, p.c)
		var tried []string
		for _, name := range names {
			if slices.Contains(r.NotIt, name) {
				tried = append(tried, name)
			}
		}
		if !slices.Equal(tried, c.tried) || len(r.NotIt) < 10 {
			t.Errorf("%s: %q in %s", c.name, tried, people)
		}
	}
}
