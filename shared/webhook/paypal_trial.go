package webhook

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// payPalTrial is the key that stands in for PayPal's own where an endpoint is tried: PayPal alone can sign
// as PayPal. Everybody has this one, and so it proves nothing: its certificate is signed by itself, no
// chain of PayPal's leads to it, and [Scheme.CheckCertificate] refuses it.
var payPalTrial = sync.OnceValue(func() *rsa.PrivateKey {
	p, _ := new(big.Int).SetString(""+
		"fb637aba008c2f96663c6610fb7b5c6b96a494bcdb1f800ecfb554ec62579bc8"+
		"11456422d4793545fbba36a598a2a67d5e19567be2688f0e18c54f092f461833"+
		"a8974fe6511dedec4d12036454911aa568b14089b9562e3d1448e2c6fc75a85d"+
		"6931bbdf6590f7fe57131869388926bd3e6e5a1130488ed42352c492ed7e8e59", 16)
	q, _ := new(big.Int).SetString(""+
		"c435aec977eb3662bbb77aa3ab36d61a0083e9be1242de4f050402b9b97805a1"+
		"9ce49edf05b09554629b0c9851bf21d65823dd97c5ad0db5c4cd2ab51c510044"+
		"e1d1505473767778f8551be899c8bae28929ec99db8cec3980bdbfde29715bef"+
		"20a69415b68f94f55e7eebe0f528be476da62ad381c87dcec87ddae3ebe3295f", 16)
	one, e := big.NewInt(1), big.NewInt(65537)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	k := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: int(e.Int64())},
		D:         new(big.Int).ModInverse(e, phi),
		Primes:    []*big.Int{p, q},
	}
	k.Precompute()
	return k
})

// payPalTrialCertificate is of that key, and the same for everybody: its signature has nothing random.
var payPalTrialCertificate = sync.OnceValue(func() []byte {
	k := payPalTrial()
	number := sha256.Sum256(k.N.Bytes())
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(number[:8]),
		Subject:      pkix.Name{CommonName: "trial.invalid"},
		DNSNames:     []string{"trial.invalid"},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(nil, template, template, k.Public(), k)
	if err != nil {
		panic("webhook: " + err.Error()) // the same on every run, so that no test passes
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
})
