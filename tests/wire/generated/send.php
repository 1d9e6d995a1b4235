<?php
// Sends a text with a client that OpenAPI Generator made, and prints the results. Each of the client's files is loaded, which is PHP's own check.
declare(strict_types=1);

require '/usr/share/php/GuzzleHttp/autoload.php';
$files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator($argv[1], FilesystemIterator::SKIP_DOTS));
spl_autoload_register(function (string $class) use ($argv): void {
    if (str_starts_with($class, 'OpenAPI\\Client\\')) {
        require_once $argv[1] . strtr(substr($class, strlen('OpenAPI\\Client')), '\\', '/') . '.php';
    }
});
foreach ($files as $file) {
    require_once $file->getPathname();
}

use OpenAPI\Client\Api\MessagesApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\SendForm;

$configuration = (new Configuration())->setHost(getenv('API_URL'))->setAccessToken(getenv('API_KEY'));
$api = new MessagesApi(new GuzzleHttp\Client(), $configuration);

function form(string $sender, string $recipient): SendForm
{
    return new SendForm(['sender' => $sender, 'message' => 'Your order 1042 is on its way.', 'recipients' => [$recipient]]);
}

function refusal(MessagesApi $api, SendForm $form): mixed
{
    try {
        $api->postSmsSend($form);
    } catch (ApiException $exception) {
        return $exception->getResponseObject()->getError();
    }
    throw new RuntimeException('It was not refused.');
}

$id = $api->postSmsSend(form('SANDBOX', '233201234567'), bin2hex(random_bytes(16)))->getData()->getMessageIds()[0];
$found = $api->getMessagesId($id)->getData();
echo json_encode([
    'id' => $id, 'status' => $found->getTimeline()[0]->getStatus(),
    'refused' => refusal($api, form('NOBODY', '233201234567'))->getReason(),
    'needed' => refusal($api, form('SANDBOX', '233201234004'))->getRequired(),
]);
