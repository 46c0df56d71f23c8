int write_file(void)
{
    return 1;
}
