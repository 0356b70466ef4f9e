package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// said are the words by which a text says that a secret should stand in its place.
var said = []string{
	"add", "change", "changed", "changeit", "dummy", "enter", "fill", "fixme", "go", "goes", "here", "insert", "paste", "placeholder", "put",
	"redacted", "replace", "replaced", "setme", "tbd", "todo", "with", "xxx", "your",
}

// beside are the words that stand with them, and that no text says by themselves.
var beside = []string{
	"a", "an", "and", "api", "app", "application", "be", "bit", "by", "client", "example", "for", "from", "hook", "hooks", "hmac", "i", "in", "is", "it", "key", "long", "me", "must", "my", "of", "or", "own",
	"password", "production", "random", "real", "sample", "secret", "secrets", "shared", "sign", "signature", "signing", "sk", "string", "strong", "test", "text", "the", "this", "to", "token", "value",
	"verification", "webhook", "webhooks", "whsec", "x",
	"calendly", "forgejo", "ghost", "gitea", "github", "gitlab", "hubspot", "intercom", "lemon", "lemonsqueezy", "linear", "mailgun", "openai", "paddle", "paypal", "shop", "shopify", "slack", "square",
	"squeezy", "store", "stripe", "svix", "twilio", "woo", "woocommerce", "wordpress", "zendesk",
}

// whole are the texts that say it only where nothing else stands.
var whole = []string{"default", "example", "mysecret", "nil", "none", "null", "password", "secret", "test", "undefined", "webhooksecret"}

// isSentence tells whether a text is made of those words alone, and of one at least that says it.
func isSentence(text string) bool {
	type end struct{ without, with bool } // a word that says it; neither: no words end here
	ends := make([]end, len(text)+1)
	ends[0].without = true
	for i, e := range ends[:len(text)] {
		if e == (end{}) {
			continue
		}
		for _, word := range beside {
			if strings.HasPrefix(text[i:], word) {
				next := &ends[i+len(word)]
				next.without, next.with = next.without || e.without, next.with || e.with
			}
		}
		for _, word := range said {
			if strings.HasPrefix(text[i:], word) {
				ends[i+len(word)].with = true
			}
		}
	}
	return ends[len(text)].with
}

// unresolved is a reference that nothing has filled in. It takes letters only, since a sender's own
// random secret may well begin and end with brackets.
var unresolved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(<[A-Za-z _-]+>|\$\{?[A-Za-z_]+\}?|\{\{ ?[A-Za-z_. ]+\}\})$`)
})

// kinds are what secrets of a kind begin with: nothing behind it is no secret.
var kinds = []string{"whsec_", "whpk_", "whsk_", "sk-", "sk_live_", "sk_test_"}

// maxDigits is how many digits may stand among the words: of a number, or a year.
const maxDigits = 4

// IsBlank tells whether no secret stands there: nothing, white space, one character over and over, or what
// people and templates write where one is to be filled in. Whoever guesses that could sign. A secret whose
// characters are random is never blank.
func (v Value) IsBlank() bool {
	text := strings.TrimSpace(string(v.Reveal()))
	for _, k := range kinds {
		text = strings.TrimPrefix(text, k)
	}
	if text == "" || strings.Trim(text, text[:1]) == "" || strings.ContainsAny(text[:1], "<${") && unresolved().MatchString(text) {
		return true
	}
	words, ok := letters(text)
	return ok && (slices.Contains(whole, words) || isSentence(words))
}

// letters are those of a text, in lower case. It tells false when the text has more digits than words
// come with, or what stands neither between words nor around them.
func letters(text string) (string, bool) {
	var b strings.Builder
	digits := 0
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= 'a' && c <= 'z':
			b.WriteRune(c)
		case c >= '0' && c <= '9':
			if digits++; digits > maxDigits {
				return "", false
			}
		case !strings.ContainsRune(" \t_-.,:;!?/'\"`*<>[](){}$%…", c):
			return "", false
		}
	}
	return b.String(), true
}
