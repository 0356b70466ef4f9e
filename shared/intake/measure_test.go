package intake_test

import (
	"slices"
	"testing"

	"engang/shared/intake"
)

// The alarm on a wrong secret reads the largest value: a stranger's attempts beside real deliveries must not ring it,
// and nothing but refusals must.
func TestEachDeliveryTellsWhetherItCouldBeVerified(t *testing.T) {
	forged := func(d intake.Delivery) intake.Delivery { d.Body = append(d.Body, ' '); return d }
	for _, tc := range []struct {
		name       string
		deliveries func(w *world) []intake.Delivery
		want       []float64
	}{
		{"nothing but refusals", func(w *world) []intake.Delivery {
			return []intake.Delivery{forged(w.woo("product.updated", product)), forged(w.woo("product.updated", product))}
		}, []float64{0, 0}},
		{"a stranger beside the sender, a repeat, and a type that is not enabled", func(w *world) []intake.Delivery {
			d := w.woo("product.updated", product)
			return []intake.Delivery{d, forged(w.woo("product.updated", product)), d, w.woo("order.created", product)}
		}, []float64{1, 0, 1, 1}},
		{"what is refused before a secret is looked at", func(w *world) []intake.Delivery {
			d := w.woo("product.updated", product)
			d.Method = "PUT"
			return []intake.Delivery{d}
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			for _, d := range tc.deliveries(w) {
				_, _ = w.deliver(d)
			}
			var got []float64
			for _, line := range w.lines("_aws") {
				if v, ok := line["Verified"].(float64); ok && line["endpoint"] == "woo-shop" {
					got = append(got, v)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("Verified %v, want %v", got, tc.want)
			}
		})
	}
}
