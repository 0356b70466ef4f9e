package settings_test

import (
	"strings"
	"testing"

	"engang/shared/settings"
)

// What is set and cannot be right ends a start: else each call would fail by itself, later, with a text of AWS.
func TestASettingOfAnotherShapeIsAFault(t *testing.T) {
	for _, tc := range []struct {
		name string
		read func(r *settings.Reader) string
		fit  []string
		not  []string
	}{
		{
			"TABLE_NAME", func(r *settings.Reader) string { return r.TableName("TABLE_NAME") },
			[]string{"engang-Table-1ABC", "a.b", "a_b", strings.Repeat("t", 255)},
			[]string{"bad table", "t", "ab", strings.Repeat("t", 256), "table/1", "töpfe", "table\n"},
		}, {
			"SECRET_PATH", func(r *settings.Reader) string { return r.SecretPath("SECRET_PATH") },
			[]string{"/engang/my-stack", "/a.b_c/d/e"},
			[]string{"/", "engang/x", "/secrets", "/secrets/", "//x", "/engang//x", "/engang/x/", "/engang/my stack", "ssm:/engang/x", "engang/x/y"},
		}, {
			"AWS_REGION", func(r *settings.Reader) string { return r.AWS().Region },
			[]string{"eu-north-1", "us-gov-west-1", "us-iso-east-1", "eusc-de-east-1", "us-east-1"}, // the last is that of the engines that stand in
			[]string{"eu north", "ap-south", "eu-north-1 ", "EU-NORTH-1", "1-2", "-1", "eu--1", "eu-north-1.example.com", "eu_north-1", "1"},
		},
	} {
		env := func(value string) *settings.Reader {
			return reader(map[string]string{tc.name: value, "AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"})
		}
		for _, value := range tc.fit {
			if r := env(value); tc.read(r) != value || r.Err() != nil {
				t.Errorf("%s=%q: %v", tc.name, value, r.Err())
			}
		}
		for _, value := range tc.not {
			r := env(value)
			tc.read(r)
			if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(), "setting "+tc.name+" is no ") || len(value) > 6 && strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s=%q: %v", tc.name, value, err)
			}
		}
		if r := env(""); tc.read(r) != "" || r.Err() == nil || r.Err().Error() != "setting "+tc.name+" is not set" {
			t.Errorf("%s is missing: %v", tc.name, r.Err())
		}
	}
}
