"""Addresses of providers, as suggestions for the endpoint of a judge."""

from urllib.parse import urlsplit

from judges.operations.list_providers import provider_addresses


def test_each_suggestion_has_a_name_an_address_and_its_key_variable():
    by_name = {each.name: each for each in provider_addresses()}
    assert by_name["openai"].address == "https://api.openai.com/v1"
    assert by_name["openai"].key_variable == "OPENAI_API_KEY"
    assert by_name["openai"].title == "OpenAI"
    assert by_name["ollama"].key_variable == "", "a local server needs no key"


def test_a_provider_whose_address_depends_on_the_account_is_not_suggested():
    assert "azure" not in {each.name for each in provider_addresses()}


def test_keys_are_suggested_for_addresses_over_https_only():
    for each in provider_addresses():
        assert urlsplit(each.address).scheme == "https" or not each.key_variable
