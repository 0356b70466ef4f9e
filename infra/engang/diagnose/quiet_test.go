package diagnose_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/webhook"
)

func replaced(from, to string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
}

// rewritten is what a program in Go makes of JSON that it reads and writes; keys are in order already.
func rewritten(markup bool, indent string) func([]byte) []byte {
	return func(b []byte) []byte {
		var out bytes.Buffer
		var doc json.RawMessage = b
		var again bytes.Buffer
		_ = json.Compact(&again, doc)
		text := regexp.MustCompile(`\\u00e9|\\/`).ReplaceAllStringFunc(again.String(), func(s string) string {
			return map[string]string{`\u00e9`: "é", `\/`: "/"}[s]
		})
		if markup {
			json.HTMLEscape(&out, []byte(text))
		} else {
			out.WriteString(text)
		}
		return out.Bytes()
	}
}

// widened writes each byte as if it were a character of Latin-1.
func widened(b []byte) []byte {
	var out []rune
	for _, c := range b {
		out = append(out, rune(c))
	}
	return []byte(string(out))
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func hexOf(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(raw)
}

func hmac(header, prefix, timeHeader string) *config.HMAC {
	return &config.HMAC{Header: header, Prefix: prefix, Encoding: "hex", TimeHeader: timeHeader}
}

// v1Of is the oldest signature of HubSpot.
func v1Of(secret, body string) string {
	sum := sha256.Sum256([]byte(secret + body))
	return hex.EncodeToString(sum[:])
}

var sums = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{40}|[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{27}=|[A-Za-z0-9+/]{300,}={0,2}`)

// kept demands that an output holds neither a secret nor a signature: not that of the delivery as it was
// sent or captured, not one of now, in no way of writing it, and not what the body says.
func kept(t *testing.T, p *parcel, output string) {
	t.Helper()
	hide := map[string]string{}
	for _, held := range append(p.c.Secrets, p.c.Others...) {
		hide[string(held.Value.Reveal())] = "a secret"
	}
	hide[p.secret] = "the sender's secret"
	body := p.body
	for _, bodyOf := range []string{body, string(p.c.Request.Body)} {
		for _, at := range []time.Time{p.at, p.c.Now} {
			q := *p
			q.body, q.at = bodyOf, at
			req := q.signed()
			all := string(req.Body)
			for _, values := range req.Header {
				all += " " + strings.Join(values, " ")
			}
			for _, sum := range sums.FindAllString(all, -1) {
				hide[sum] = "a signature"
				if raw, err := hex.DecodeString(sum); err == nil {
					hide[base64.StdEncoding.EncodeToString(raw)] = "a signature in base64"
					hide[strings.ToUpper(sum)] = "a signature in capitals"
				} else if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
					hide[hex.EncodeToString(raw)] = "a signature in hex"
					hide[base64.RawURLEncoding.EncodeToString(raw)] = "a signature for addresses"
				}
			}
		}
	}
	hide["Caf"] = "the body"
	for text, what := range hide {
		if text = strings.TrimSpace(text); text != "" && strings.Contains(output, text) {
			t.Errorf("the output holds %s:\n%s", what, output)
		}
	}
}

// Whatever is spoilt, however often, and whoever the sender is: the output gives nothing away.
func TestNoOutputHoldsASecretOrASignature(t *testing.T) {
	names := slices.DeleteFunc(webhook.Names(), func(name string) bool { return name == "generic" })
	random := rand.New(rand.NewPCG(7, 11))
	for range 400 {
		c := spoilt[random.IntN(len(spoilt))]
		p := parcelOf(t, c.provider)
		p.secret = strings.ReplaceAll(p.secret, "0", string(rune('a'+random.IntN(26))))
		if c.sent != nil {
			c.sent(p)
		}
		if p.provider == c.provider {
			p.holds(p.secret)
		}
		p.capture()
		for range 1 + random.IntN(3) {
			more := spoilt[random.IntN(len(spoilt))]
			if more.spoil != nil && more.provider == c.provider {
				more.spoil(p)
			}
		}
		if c.spoil != nil {
			c.spoil(p)
		}
		if random.IntN(4) == 0 {
			p.c.Endpoint.Provider = names[random.IntN(len(names))]
			p.c.Endpoint.Type, p.c.Endpoint.HMAC = "", nil
		}
		r, people, programs := told(t, p.c)
		kept(t, p, people+programs)
		if r.Sound != (len(r.Found) == 0) {
			t.Errorf("sound %v with %d findings", r.Sound, len(r.Found))
		}
	}
}
