package diagnose

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
	"net/url"
	"slices"
	"strings"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

const doSecret = "put the right secret in place: engang secret set or rotate"

// secretCauses are what happens to a secret between the sender's form and the parameter store.
var secretCauses = []cause{
	{"secret-html", "HTML-decoded secret", secret, "use a secret of letters and digits: rotate it", only(fromWebForms, forms(
		form{"with its HTML escapes read another way: sender and receiver do not agree on & < > and quotation marks", func(t string) []string {
			return []string{escapeFive(t), escapeFive(escapeFive(t)), html.UnescapeString(t), html.UnescapeString(html.UnescapeString(t))}
		}},
	))},
	{"secret-trimmed", "trimmed secret", secret, doSecret, forms(
		form{"without the white space at its ends", func(t string) []string { return []string{strings.TrimSpace(t)} }},
		form{"with a line end, which the sender's side has", func(t string) []string { return []string{t + "\n", t + "\r\n"} }},
	)},
	{"secret-quoted", "quotation marks or a name around the secret", secret, doSecret, forms(
		form{"without the quotation marks or the name= that were pasted with it", unquotedSecret},
	)},
	{"secret-whsec", "the other kind of whsec_", secret, "look which kind the sender issues: Stripe signs by the whole text, Standard Webhooks by the bytes behind whsec_", only(withWhsec, forms(
		form{"by its whole text, whsec_ included, as Stripe does", whole},
		form{"by its text without whsec_", func(t string) []string { return []string{strings.TrimPrefix(t, "whsec_")} }},
		form{"by its text with whsec_ before it, which was left off", func(t string) []string { return []string{"whsec_" + strings.TrimPrefix(t, "whsec_")} }},
		form{"by the bytes that its base64 stands for, as Standard Webhooks does", bytesBehind},
	))},
	{"secret-prefix", "prefix pasted into the secret", secret, doSecret, forms(
		form{"without the prefix that was pasted with it", unprefixed},
	)},
	{"secret-encoded", "secret in another encoding", secret, doSecret, forms(
		form{"by the bytes that its base64 or hex stands for", func(t string) []string { return append(bytesBehind(t), bytesOfHex(t)...) }},
		form{"written as base64 or hex", func(t string) []string {
			return []string{base64.StdEncoding.EncodeToString([]byte(t)), hex.EncodeToString([]byte(t))}
		}},
		form{"without the escapes of an address", func(t string) []string {
			if plain, err := url.QueryUnescape(t); err == nil {
				return []string{plain, strings.ReplaceAll(t, " ", "+")}
			}
			return nil
		}},
	)},
	{"secret-unnamed", "a secret that the endpoint does not name", secret, "", others(func(s *search, o Secret) (string, string, bool) {
		return "the secret in " + o.Name + " is used, which the endpoint does not name", "name ssm:" + o.Name + " in the secrets of the endpoint, and apply", o.Owner == nil
	})},
	{"secret-elsewhere", "other endpoints of this tenant", secret, "", others(func(s *search, o Secret) (string, string, bool) {
		mine := o.Owner != nil && o.Owner.Environment == s.Endpoint.Environment
		return "the secret in " + o.Name + " is used, which is another endpoint's", "let the sender deliver to the endpoint whose secret it has, or give it this one's", mine
	})},
	{"secret-environment", "endpoints of the other environment", secret, "", others(func(s *search, o Secret) (string, string, bool) {
		mine := o.Owner != nil && o.Owner.Environment != s.Endpoint.Environment
		if !mine {
			return "", "", false
		}
		return "the secret in " + o.Name + " is used, which is of " + o.Owner.Environment, "the sender is set up for " + o.Owner.Environment + ": give it address and secret of one and the same environment", true
	})},
	{"secret-public", "secret that everybody knows", secret, "it may come from the sender's button for trying, or from anybody: set a secret of your own at the sender", func(s *search, _ attempt) []option {
		options := []option{}
		for _, v := range s.scheme.PublicSecrets() {
			options = append(options, option{what: "it was signed with a secret that everybody knows", apply: with(v)})
		}
		return options
	}},
}

// A form is one way in which a secret may have been meant.
type form struct {
	what string // "the secret in … is used" and this
	make func(text string) []string
}

// forms try each secret in each form, and each form as text and as bytes behind whsec_: which of the two a
// provider's row reads, it decides itself.
func forms(all ...form) func(*search, attempt) []option {
	return func(s *search, _ attempt) []option {
		options := []option{}
		for _, f := range all {
			for _, held := range s.Secrets {
				options = append(options, option{what: "the secret in " + held.Name + " is used " + f.what, apply: s.meaning(held, f)})
			}
		}
		return options
	}
}

func (s *search) meaning(held Secret, f form) func(attempt) (attempt, bool) {
	return func(a attempt) (attempt, bool) {
		text := string(held.Value.Reveal())
		var values []secrets.Value
		for _, meant := range f.make(text) {
			asText := meant == whole(text)[0]
			if asText {
				meant = text
			}
			if meant == "" || meant == text && !asText { // it changes nothing
				continue
			}
			for _, written := range []string{meant, "whsec_" + base64.StdEncoding.EncodeToString([]byte(meant))} {
				if written != text {
					values = append(values, secrets.NewValue(written))
				}
			}
		}
		a.secrets = values
		return a, len(values) > 0
	}
}

// whole is the secret as it is, to be read in the other of the two ways.
func whole(text string) []string { return []string{"\x00" + text} }

// only keeps causes for the providers that know them.
func only(provider func(s *search) bool, tries func(*search, attempt) []option) func(*search, attempt) []option {
	return func(s *search, a attempt) []option {
		if !provider(s) {
			return nil
		}
		return tries(s, a)
	}
}

// fromWebForms tells senders that put a secret through HTML, or may do so.
func fromWebForms(s *search) bool {
	return slices.Contains([]string{"woocommerce", "wordpress", "ghost", "generic"}, s.scheme.Name())
}

// withWhsec tells senders whose secrets begin so, in either kind, or look like their base64.
func withWhsec(s *search) bool {
	return slices.Contains([]string{"stripe", "standard-webhooks", "svix", "openai", "gitlab", "zendesk"}, s.scheme.Name())
}

// escapeFive is what WordPress makes of the characters that it escapes.
func escapeFive(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;").Replace(text)
}

func unquotedSecret(text string) []string {
	plain := strings.TrimSpace(text)
	_, value, _ := strings.Cut(plain, "=")
	return []string{strings.Trim(plain, "\"'`"), strings.Trim(value, "\"'`"), strings.TrimSpace(strings.Trim(plain, "\"'`"))}
}

func unprefixed(text string) []string {
	var all []string
	for _, prefix := range []string{"whsec_", "whpk_", "v1,", "v1=", "v0=", "sha256=", "sha1=", "Bearer ", "Secret: ", "secret:", "ssm:"} {
		if plain, ok := strings.CutPrefix(text, prefix); ok {
			all = append(all, plain)
		}
	}
	return all
}

// bytesBehind are the bytes of a secret's base64, with its prefix or without.
func bytesBehind(text string) []string {
	var all []string
	plain := strings.TrimPrefix(strings.TrimSpace(text), "whsec_")
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := e.DecodeString(plain); err == nil {
			all = append(all, string(raw))
		}
	}
	return slices.Compact(all)
}

func bytesOfHex(text string) []string {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	return []string{string(raw)}
}

// others are the secrets that stand in the store beside the endpoint's own, one at a time.
func others(which func(s *search, o Secret) (what, do string, ok bool)) func(*search, attempt) []option {
	return func(s *search, _ attempt) []option {
		options := []option{}
		for _, o := range s.Others {
			known := slices.ContainsFunc(s.Secrets, func(held Secret) bool { return bytes.Equal(held.Value.Reveal(), o.Value.Reveal()) })
			if what, do, ok := which(s, o); ok && !known {
				options = append(options, option{what: what, do: do, apply: with(o.Value)})
			}
		}
		return options
	}
}

// unfit says which secrets show that they are something else.
func (s *search) unfit() {
	for _, held := range s.Secrets {
		err := s.scheme.CheckSecret(held.Value)
		if err == nil {
			continue
		}
		code, do := "secret-kind", doSecret
		if e, ok := errors.AsType[*webhook.SecretError](err); ok {
			if e.Public {
				code = "secret-public"
			}
			text := "the secret in " + held.Name + " is not fit: " + e.Reason
			if e.Form != "" {
				do = "set " + e.Form
			}
			s.find(code, text, do)
		}
	}
}
