<?php
// Five calls with the client that openapi-generator makes as php, as it is: php five_calls.php CLIENT URL API_KEY.
declare(strict_types=1);

use OpenAPI\Client\Api\AuthApi;
use OpenAPI\Client\Api\DidsApi;
use OpenAPI\Client\Api\ServiceApi;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\CreateDidRequest;
use OpenAPI\Client\Model\ServiceInput;
use OpenAPI\Client\Model\UpdateDidRequest;

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

[, $folder, $url, $apiKey] = $argv;
error_reporting(E_ALL & ~E_DEPRECATED);
set_error_handler(fn (int $level, string $text, string $file, int $line) => throw new ErrorException($text, 0, $level, $file, $line), E_ALL & ~E_DEPRECATED);
require_once 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $name) use ($folder): void {
    $path = $folder . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $name) . '.php';
    if (is_file($path)) {
        require_once $path;
    }
});

function signChallenge(string $did, string $secret, string $challenge): string
{
    $decoded = array_fill(0, 64, 0);
    foreach (str_split(substr($secret, 1)) as $digit) {
        $carry = strpos(ALPHABET, $digit);
        for ($place = 63; $place >= 0; $place--) {
            $carry += 58 * $decoded[$place];
            $decoded[$place] = $carry & 255;
            $carry >>= 8;
        }
    }
    $seed = pack('C*', ...array_slice($decoded, 32));
    $key = sodium_crypto_sign_secretkey(sodium_crypto_sign_seed_keypair($seed));
    $signature = sodium_crypto_sign_detached($challenge, $key);
    return base64_encode($did . '.' . sodium_bin2base64($signature, SODIUM_BASE64_VARIANT_URLSAFE_NO_PADDING));
}

function connect(string $url, string $header, string $text): Configuration
{
    return (new Configuration())->setHost($url . '/api/v1')->setApiKey($header, $text);
}

$operator = connect($url, 'X-API-Key', $apiKey);
$dids = new DidsApi(null, $operator);
$created = $dids->createDid(new CreateDidRequest(['method' => 'ids', 'key_type' => 'Ed25519']));
$did = $created->getDid();
echo "created $did\n";
echo 'resolved ', $dids->resolveDid($did)->getDidDocument()->getId() === $did ? 'True' : 'False', "\n";
$challenge = (new AuthApi(null, $operator))->getDidAuthChallenge($did)->getChallenge();
$signed = signChallenge($did, $created->getKeys()->getAuthentication()->getPrivateKey(), $challenge);
$holder = new DidsApi(null, connect($url, 'Authorization', "DIDAuth $signed"));
$service = new ServiceInput(['id' => 'agent', 'type' => 'AgentService', 'service_endpoint' => 'https://agent.example/']);
$updated = $holder->updateDid($did, new UpdateDidRequest(['operation' => 'addService', 'service' => $service]));
echo 'updated ', $updated->getVersionId(), "\n";
echo 'history ', count($dids->listDidHistory($did)->getItems()), "\n";
echo 'health ', (new ServiceApi(null, $operator))->getHealth()->getStatus(), "\n";
