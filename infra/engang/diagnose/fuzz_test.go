package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"engang/infra/engang/capture"
	"engang/infra/engang/diagnose"
	"engang/shared/webhook"
)

// Whatever was captured: there is an end, and nothing is given away.
func FuzzExplain(f *testing.F) {
	for i, name := range webhook.Names() {
		f.Add(uint8(i), "X-Sum", "v1,"+name, []byte(`{"a":1}`), uint8(0))
		f.Add(uint8(i), "Webhook-Signature", "v1,a,v1,b", []byte("a=b"), uint8(7))
	}
	f.Fuzz(func(t *testing.T, provider uint8, name, value string, body []byte, spoil uint8) {
		names := webhook.Names()
		p := parcelOf(t, names[int(provider)%len(names)])
		if p.provider == "generic" {
			p.c.Endpoint.HMAC = hmac("X-Sum", "", "")
		}
		p.capture()
		switch spoil % 8 {
		case 1:
			p.c.Request.Body = body
		case 2:
			p.bytes(func(b []byte) []byte { return append(b, body...) })
		case 3:
			p.c.Request.Headers = nil
		case 4:
			p.holds(value)
		case 5:
			p.c.Request.Method, p.c.Request.Target = strings.TrimSpace(name), value
		case 6:
			for i := range p.c.Request.Headers {
				p.c.Request.Headers[i].Value += value
			}
		case 7:
			p.c.Now = noon.Add(time.Duration(len(body)) * time.Minute)
		}
		p.c.Request.Headers = append(p.c.Request.Headers, capture.Header{Name: name, Value: value})
		r, people, programs := told(t, p.c)
		if len(programs) > 8<<10 {
			t.Errorf("a report of %d bytes", len(programs))
		}
		for _, c := range people {
			if c < ' ' && c != '\n' {
				t.Errorf("a control character on the terminal: %q", people)
			}
		}
		if r.Sound && r.Signature == diagnose.NoMatch {
			t.Errorf("sound without a signature that fits: %s", people)
		}
		if strings.Contains(people+programs, p.secret) {
			t.Errorf("a secret is shown: %s", people)
		}
	})
}
