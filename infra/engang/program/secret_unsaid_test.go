package program_test

import (
	"strings"
	"testing"

	"engang/shared/control"
	"engang/shared/secrets"
)

// Whoever mistypes a command may have put the secret where something else belongs: it is not said again,
// and so does not end in a log of what was shown.
func TestNoArgumentThatMayBeASecretIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCaptures(t)
	for _, secret := range []string{
		"0123456789abcdef0123456789abcdef01234567", "Kq7vT2mW9xLd4Rz8", "p4ss word/with-a-slash+", "whsec_0123456789abcdef0123456789abcdef", "sk-proj-0123456789abcdef0123",
		"hooks/" + "whsec_0123456789abcdef0123456789abcdef" + "/1",
	} {
		for _, c := range []struct {
			name string
			args []string
			code int
		}{
			{"in place of NAME", []string{"secret", "set", secret}, 0},
			{"in place of NAME, as a reference", []string{"secret", "set", "ssm:" + secret}, 0},
			{"in place of NAME of a rotation", []string{"secret", "rotate", secret}, 0},
			{"in place of NAME of a removal", []string{"secret", "retire", secret}, 0},
			{"behind NAME", []string{"secret", "set", "woo-shop", secret}, 2},
			{"in place of what is done", []string{"secret", secret}, 2},
			{"in place of a provider", []string{"secret", "set", "hooks/new/1", "--provider", secret}, 2},
			{"in place of another provider", []string{"secret", "set", "woo-shop", "--provider", secret}, 2},
			{"in place of its file", []string{"verify", "--provider", "stripe", "--request", "captured.http", "--secret-file", secret}, 2},
			{"in place of its file, with a sign", []string{"verify", "--provider", "stripe", "--request", "captured.http", "--secret-file=" + secret}, 2},
			{"in place of its file to sign with", []string{"send", "--secret-file", secret}, 2},
			{"in place of its file to sign with, with a sign", []string{"send", "--secret-file=" + secret}, 2},
			{"behind verify", []string{"verify", secret}, 2},
			{"in place of a provider that starts", []string{"init", secret}, 2},
		} {
			for _, flags := range [][]string{nil, {"--json"}} {
				api := serveCanned(t)
				api.names(one)
				code, stdout, stderr := given(t, firstSecret, append(append(c.args, "--target", api.url), flags...)...)
				if c.code != 0 && code != c.code || code == 0 {
					t.Errorf("%s: exit %d %s%s", c.name, code, stdout, stderr)
				}
				for _, part := range append(strings.Split(secret, "/"), secret) {
					if len(part) > 6 && strings.Contains(stdout+stderr, part) {
						t.Errorf("%s: it is shown: %s%s", c.name, stdout, stderr)
					}
				}
			}
		}
	}
}

// What looks like a secret of a known kind is said nowhere, whatever it was taken for.
func TestWhatLooksLikeASecretIsNeverSaid(t *testing.T) {
	const secret = "whsec_0123456789abcdef0123456789abcdef"
	for _, args := range [][]string{
		{secret}, {"show", "--since", secret, "a:1"}, {"events", "--limit", secret}, {"events", "x", secret}, {"events", secret}, {"secret", "rotate", "woo-shop", "--overlap", secret},
		{"verify", "--endpoint", secret, "--body", "none"}, {"verify", "--now", secret, "--endpoint", "woo-shop", "--request", "captured.http"}, {"apply", secret}, {"send", secret}, {"send", "--twist=" + secret},
	} {
		for _, flags := range [][]string{nil, {"--json"}} {
			api := serveCanned(t)
			api.names(one)
			code, stdout, stderr := run(t, t.Context(), append(append(args, "--target", api.url), flags...)...)
			if code == 0 || strings.Contains(stdout+stderr, secret) {
				t.Errorf("%v: exit %d %s%s", args, code, stdout, stderr)
			}
		}
	}
}

func TestHelpSaysHowASecretIsGiven(t *testing.T) {
	for _, act := range []string{"set", "rotate"} {
		_, help, _ := run(t, t.Context(), "secret", act, "--help")
		for _, says := range []string{"never an argument", "On a terminal it is asked for", "is not shown", "standard input", "< "} {
			if !strings.Contains(help, says) {
				t.Errorf("%s does not say %q:\n%s", act, says, help)
			}
		}
	}
}

// Of three webhooks one rotates: its former secret stays until the new one is in use, unless it has leaked.
func TestARetiredSecretIsFollowedByOneInUse(t *testing.T) {
	api := serveCanned(t)
	two := control.Endpoint{Name: "two", Provider: "woocommerce", Environment: "test", Secrets: []string{"ssm:hooks/two/1", "ssm:hooks/two/2"}}
	api.names(one, two)
	for _, path := range two.Secrets {
		path = strings.TrimPrefix(path, "ssm:")
		if err := vault(api.store()).Put(t.Context(), path, secrets.NewValue(path+firstSecret)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"rotate", "hooks/two/1", "--overlap", "0s"}, 0, "Endpoint two: secrets: [ssm:hooks/two/3, ssm:hooks/two/1, ssm:hooks/two/2]"},
		{[]string{"retire", "two"}, 4, "the new secret, in hooks/two/3, is not in use yet"},
		{[]string{"retire", "two", "--early"}, 0, "removed"},
	} {
		code, stdout, stderr := given(t, secondSecret, append(append([]string{"secret"}, c.args...), "--target", api.url)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
}
