package identity

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
)

// multihash is how did:webvh writes a SHA-256.
func multihash(octets []byte) string { return base58(append([]byte{0x12, 0x20}, sha256Of(octets)...)) }

// verifies reports whether signature is valid for message and a public multikey (z6Mk…). It fails for other keys, and for keys of small
// order.
func verifies(publicMultikey string, message, signature []byte) (bool, error) {
	key, err := multikey(publicMultikey, publicPrefix, ed25519.PublicKeySize)
	if err != nil {
		return false, err
	}
	if isWeak(key) {
		return false, errors.New("an Ed25519 key of small order, under which anybody signs")
	}
	return ed25519.Verify(key, message, signature), nil
}

var (
	prime     = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	eighth, _ = new(big.Int).SetString("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826", 16)
	// The points of the orders 1, 2, 4 and 8 by their y; crypto/ed25519 takes them.
	weak = []*big.Int{new(big.Int), big.NewInt(1), new(big.Int).Sub(prime, big.NewInt(1)), eighth, new(big.Int).Sub(prime, eighth)}
)

func isWeak(key []byte) bool {
	octets := make([]byte, len(key))
	for place, octet := range key {
		octets[len(key)-1-place] = octet
	}
	octets[0] &= 0x7f
	y := new(big.Int).SetBytes(octets)
	y.Mod(y, prime)
	for _, one := range weak {
		if y.Cmp(one) == 0 {
			return true
		}
	}
	return false
}

// isPublicKey reports whether a text is a public multikey of Ed25519, and its key not of small order.
func isPublicKey(publicMultikey string) bool {
	key, err := multikey(publicMultikey, publicPrefix, ed25519.PublicKeySize)
	return err == nil && !isWeak(key)
}

// integer reads one between two others, both of which it may be.
func integer(value any, least, most int64) (int64, bool) {
	number, is := value.(json.Number)
	if !is {
		return 0, false
	}
	found, err := strconv.ParseInt(number.String(), 10, 64)
	return found, err == nil && least <= found && found <= most
}
